#!/usr/bin/env node
import { CommanderError } from 'commander'
import { createCommandLine, isBuiltInCommand, withDefaultCommand } from './cli/command-line.ts'
import { ignoreBrokenPipe } from './cli/exit.ts'
import { errorMessage } from './failures/error-message.ts'
import { tuneHeap } from './workers/heap.ts'

tuneHeap()
const args = withDefaultCommand(process.argv.slice(2))
// A gateway writes its log by file descriptor, and reports itself what it could not write.
if (args[0] !== 'serve') ignoreBrokenPipe()

// The edge of the process: arguments in, exit code out. 2: wrong usage; 1: any other failure. Both print one line.
try {
  // The operators' commands take long to load, and a health check runs every few seconds, each time in a process of its
  // own.
  const line = isBuiltInCommand(args[0])
    ? createCommandLine([])
    : (await import('./cli/commands/operator-commands.ts')).createFullCommandLine()
  await line.parseAsync(args, { from: 'user' })
} catch (error) {
  if (error instanceof CommanderError) {
    // commander has printed its line by now; `--help` and `--version` end here too, with 0.
    process.exitCode = error.exitCode === 0 ? 0 : 2
  } else {
    process.stderr.write(`lender-gateway: ${errorMessage(error)}\n`)
    process.exitCode = 1
  }
}
