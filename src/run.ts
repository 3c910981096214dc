import { flushStderr, ignoreBrokenPipe } from './core/cli/exit.ts'
import { needsFeatures, withDefaultCommand } from './core/cli/words.ts'
import { exitProcess } from './core/lib/program.ts'

// The edge of the process: arguments in, exit code out.
const words = withDefaultCommand(process.argv.slice(2))
if (words[0] === 'serve') {
  const { startThread } = await import('./core/config/load/reading-thread.ts')
  startThread()
} else {
  // A gateway reports itself what it could not write.
  ignoreBrokenPipe()
}
if (needsFeatures(words[0])) await import('./features/installed.ts')
const { runCommandLine } = await import('./core/cli/run-command-line.ts')
await runCommandLine(words)
// A gateway that could not start does not wait for what it has begun: a file call may hang.
if (words[0] === 'serve' && process.exitCode !== undefined) {
  await flushStderr()
  exitProcess(Number(process.exitCode))
}
