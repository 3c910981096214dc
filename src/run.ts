import { needsFeatures, withDefaultCommand } from './core/cli/command-line.ts'
import { flushStderr, ignoreBrokenPipe } from './core/cli/exit.ts'
import { runCommandLine } from './core/cli/run-command-line.ts'
import { exitProcess } from './core/lib/program.ts'

// The edge of the process: arguments in, exit code out.
const words = withDefaultCommand(process.argv.slice(2))
// A gateway writes its log by file descriptor, and reports itself what it could not write.
if (words[0] !== 'serve') ignoreBrokenPipe()
if (needsFeatures(words[0])) await import('./features/installed.ts')
await runCommandLine(words)
// A gateway that could not start: what it has begun, such as a file call that hangs, is not waited for.
if (words[0] === 'serve' && process.exitCode !== undefined) {
  await flushStderr()
  exitProcess(Number(process.exitCode))
}
