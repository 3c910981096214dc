#!/usr/bin/env node
import { CommanderError } from 'commander'
import { commandLine, isNamed, withDefaultCommand } from './cli/command-line.ts'
import { outliveReader } from './cli/pipe.ts'
import { tuneHeap } from './serving/heap.ts'

tuneHeap()
const args = withDefaultCommand(process.argv.slice(2))
// The log of a gateway is written by its descriptor, and says itself what it could not write.
if (args[0] !== 'serve') outliveReader()

// The edge of the process: arguments in, exit code out. 2 is wrong usage, 1 is anything else that goes wrong; both in one line.
try {
  // The commands of operators are much to read, and a health check asks every few seconds, each time in a process
  // of its own.
  const line = isNamed(args[0]) ? commandLine([]) : (await import('./cli/program.ts')).program()
  await line.parseAsync(args, { from: 'user' })
} catch (error) {
  if (error instanceof CommanderError) {
    // commander has printed its line by now; `--help` and `--version` end here too, with 0.
    process.exitCode = error.exitCode === 0 ? 0 : 2
  } else {
    process.stderr.write(`lender-gateway: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  }
}
