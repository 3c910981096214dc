import { once } from 'node:events'
import { readlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { getFileDescriptor } from '../../src/shared/file-descriptor.ts'

// The parts of Node beyond its documentation that src uses. A release of Node that changes one fails here, by its name.

test('_handle.fd: the descriptor of an open server is found, and none of a closed one', async () => {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')

  const open = getFileDescriptor(server)
  const link = readlinkSync(`/proc/self/fd/${open}`)
  await new Promise((resolve) => server.close(resolve))

  expect(link).toMatch(/^socket:/)
  expect(getFileDescriptor(server)).toBeNull()
})
