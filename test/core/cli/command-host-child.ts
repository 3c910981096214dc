/** Runs commands one after another, each as a process of its own would, without loading the program each time. */

import { runCommandLine } from '../../../src/core/cli/run-command-line.ts'
import { withDefaultCommand } from '../../../src/core/cli/words.ts'
import '../../helpers/install-features.ts'
import type { CommandRequest, CommandResult } from './command-host.ts'

const run = async ({ args, environment, cwd }: CommandRequest): Promise<CommandResult> => {
  process.env = { ...environment }
  process.chdir(cwd)
  process.exitCode = undefined
  const [out, err] = [capture(process.stdout), capture(process.stderr)]
  await runCommandLine(withDefaultCommand(args))
  return { code: Number(process.exitCode ?? 0), out: out(), err: err() }
}

/** Keeps what is written to a stream from now on. */
const capture = (stream: NodeJS.WriteStream): (() => string) => {
  const chunks: Buffer[] = []
  stream.write = (chunk: Uint8Array | string, ...rest: unknown[]) => {
    chunks.push(Buffer.from(chunk as string))
    for (const each of rest) if (typeof each === 'function') process.nextTick(each)
    return true
  }
  return () => Buffer.concat(chunks).toString()
}

process.on('message', async (request: CommandRequest) => process.send?.(await run(request)))
process.on('disconnect', () => process.exit())
