import { fstatSync } from 'node:fs'
import type { Environment } from '../../core/config/environment.ts'
import {
  type InheritedSocket,
  type InheritedSockets,
  type ListenerName,
  noInheritedSockets,
  notListeningText,
} from '../../core/lib/net/bind-target.ts'
import { tryOrNull } from '../../core/lib/try.ts'

const firstFd = 3
const maxFds = 64

/** sd_listen_fds(3). Throws when the variables contradict each other. */
export const parseListenFds = (environment: Environment, pid: number): InheritedSockets => {
  const { LISTEN_PID: listenPid, LISTEN_FDS: count = '', LISTEN_FDNAMES: fdNames } = environment
  // The variables were meant for the parent, and came with its environment.
  if (listenPid !== String(pid)) return noInheritedSockets
  if (!/^[1-9]\d?$/.test(count) || Number(count) > maxFds)
    throw new Error(`LISTEN_FDS is '${count}', which is no number of descriptors from 1 to ${maxFds}`)
  if (fdNames === undefined)
    throw new Error('LISTEN_FDNAMES is missing: FileDescriptorName= in each socket unit says public or admin')
  const names = fdNames.split(':')
  if (names.length !== Number(count))
    throw new Error(`LISTEN_FDS says ${count}, and LISTEN_FDNAMES names ${names.length}: '${fdNames}'`)
  const found: Record<ListenerName, InheritedSocket | null> = { public: null, admin: null }
  for (const [nth, name] of names.entries()) {
    if (name !== 'public' && name !== 'admin')
      throw new Error(`LISTEN_FDNAMES names '${name}': FileDescriptorName= says public or admin`)
    if (found[name] !== null) throw new Error(`LISTEN_FDNAMES names ${name} twice: one socket each`)
    found[name] = { fd: firstFd + nth, source: `${name} of LISTEN_FDNAMES` }
  }
  return found
}

/** Hides the variables from child processes. Throws when a descriptor is no socket. */
export const takeListenFds = (): InheritedSockets => {
  const found = parseListenFds(process.env, process.pid)
  for (const socket of [found.public, found.admin])
    if (socket !== null && !isSocket(socket.fd)) throw new Error(notListeningText(socket))
  for (const name of ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES']) delete process.env[name]
  return found
}

const isSocket = (fd: number): boolean => tryOrNull(() => fstatSync(fd))?.isSocket() ?? false
