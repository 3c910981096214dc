import type { ReloadCount } from '../../../snapshot/reload-history.ts'
import { counter, gauge, type Metric } from '../metric.ts'

/** Says what configuration runs, and until when what it brings is valid. */
export const configuration: readonly Metric[] = [
  gauge('config_info', 'Is 1; its label is the hash of the configuration that runs.', ['hash'], ({ config }) => [
    [config.hash, 1],
  ]),
  gauge('config_loaded_timestamp_seconds', 'When the configuration that runs came to run.', [], ({ loadedAt }) => [
    [loadedAt / 1000],
  ]),
  gauge(
    'config_last_reload_successful',
    'Whether what was read last could be taken (1), or was refused or held back and what ran before runs on (0).',
    [],
    ({ refused }) => [[refused ? 0 : 1]],
  ),
  gauge(
    'config_file_differs',
    'Whether the file, or one that it refers to, says something else than what runs (1).',
    [],
    ({ fileDiffers }) => [[fileDiffers ? 1 : 0]],
  ),
  gauge(
    'config_held_back',
    'Whether an edit waits until the endpoints or keys that it brings are reached (1).',
    [],
    ({ held }) => [[held ? 1 : 0]],
  ),
  counter(
    'config_reloads_total',
    'Reloads, by what set them off and what came of them.',
    ['trigger', 'result'],
    ({ reloads }) =>
      triggers.flatMap((trigger) =>
        results.map((result) => {
          const found = reloads.find((each) => each.trigger === trigger && each.result === result)
          return [trigger, result, found?.count ?? 0] as const
        }),
      ),
  ),
  gauge(
    'certificate_not_after_timestamp_seconds',
    'When a certificate that the gateway shows, or the first to end of the authorities that it trusts, expires.',
    ['certificate'],
    ({ certificates }) => certificates.map(({ key, notAfter }) => [key, notAfter / 1000]),
  ),
  gauge(
    'certificate_left_seconds',
    'How long until a certificate expires; below 0: it has.',
    ['certificate'],
    ({ at, certificates }) => certificates.map(({ key, notAfter }) => [key, (notAfter - at) / 1000]),
  ),
]

const triggers = [
  'file',
  'signal',
  'request',
  'rollback',
  'preflight',
] as const satisfies readonly ReloadCount['trigger'][]
const results = ['applied', 'unchanged', 'refused'] as const satisfies readonly ReloadCount['result'][]
