import { Command } from 'commander'
import type { BuiltInCommand } from '../../core/cli/built-in-command.ts'
import type { ClientCommandOptions } from '../../core/cli/client/admin-target.ts'
import { createFormatOption, defaultConfigFile } from '../../core/cli/options.ts'
import { formatJson } from '../../core/cli/render/output.ts'

const help = `
It tells what the file says, as start-up or a reload would read it. Only the method, the target and --client are looked at; header fields
and a body are not. It asks no gateway, unless told to: --live adds what is so just now, what an operator refuses for a while among it.

Exit code: 0 it would be forwarded, 1 it would be refused, or the file has problems, 2 the file cannot be read, --live: or the gateway could
not be asked, or wrong usage.

Examples:
  lender-gateway explain GET '/market/insights?region=eu'
  lender-gateway explain POST /valuation/score --config config/gateway.yaml --format json
  lender-gateway explain POST /risk/asset-valuation --live
  lender-gateway explain POST /risk/asset-valuation --client bank-a`

const notExplained =
  'nothing is explained while the file has problems; a gateway that runs goes on as before, and --live asks it'

/** Exit code: 0 forwarded, 1 rejected, 2 the file is unreadable. */
const createExplainCommand = (): Command =>
  new Command('explain')
    .description(
      'Tell what becomes of a request, offline: where it goes and which line of the file says so, or why it is refused.',
    )
    .argument('<METHOD>', 'the method, in upper case')
    .argument(
      '<TARGET>',
      'the request target as a client sends it: a path with or without a query, or a whole http:// URL',
    )
    .option('--config <FILE>', 'the configuration file', defaultConfigFile)
    .option(
      '--client <NAME>',
      'also tell whether this client may call it, and on which side of the group it is: its name, or its address',
    )
    .option('--live', 'also ask the gateway how it stands with that just now')
    .option('--admin <URL>', 'with --live: the admin listener, in place of what the file says')
    .addOption(createFormatOption())
    .addHelpText('after', help)
    .action(
      async (
        method: string,
        target: string,
        {
          config: file,
          format,
          client,
          live: isLive,
          admin,
        }: ClientCommandOptions & { readonly live?: true; readonly client?: string },
      ) => {
        const { loadConfig } = await import('../../core/config/load/load-config.ts')
        const loaded = loadConfig(file)
        if (!loaded.ok) {
          const { formatProblems } = await import('../../core/config/problem.ts')
          const { problems } = loaded
          const { fetchLiveState, findOperation, renderLiveState, toLiveJson } = await import('./live-state.ts')
          process.exitCode = loaded.unreadable ? 2 : 1
          const operation = isLive ? findOperation(method, target) : null
          const live = await fetchLiveState(operation, { config: file, admin })
          const report = {
            forwarded: null,
            method,
            target,
            file,
            hash: null,
            problems,
            ...(live && { live: toLiveJson(live) }),
          }
          process.stdout.write(format === 'json' ? formatJson(report) : formatProblems(problems))
          if (format === 'json') return
          if (live !== null && operation !== null) process.stdout.write(renderLiveState(live, operation, null))
          else if (!isLive) process.stderr.write(`lender-gateway: ${notExplained}\n`)
          return
        }

        const { explainRequest, renderExplanationJson, isForwarded, withLiveRefusal, withLiveSide } = await import(
          './explanation.ts'
        )
        const ofFile = explainRequest(method, target, file, loaded, client ?? null)
        const live = isLive
          ? await (await import('./live-state.ts')).fetchLiveState(ofFile.operation, { config: file, admin })
          : null
        const withSide = withLiveSide(ofFile, loaded, live)
        const explanation = withLiveRefusal(withSide, loaded, live)
        // In JSON, the result is that of the file; the live state stands beside it.
        if (format === 'json') process.stdout.write(renderExplanationJson(withSide, live))
        else {
          process.stdout.write((await import('./render-explanation.ts')).renderExplanation(explanation))
          const { operation, hash } = explanation
          if (live !== null && operation !== null)
            process.stdout.write((await import('./live-state.ts')).renderLiveState(live, operation, hash))
        }
        if (!isForwarded(explanation) && process.exitCode !== 2) process.exitCode = 1
      },
    )

export const builtInCommands: readonly BuiltInCommand[] = [{ after: 'check', create: createExplainCommand }]

export const loadBundle = () => import('./render-explanation.ts')
