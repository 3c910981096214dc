import type { FileCheck } from '../../core/cli/built-in-command.ts'

const help = `
A sample is a JSON object, or a list of them:

  { "operation": "valuation.score", "query": { "mode": "fast" }, "headers": { "X-Tenant": "a" }, "body": { "id": "7" },
    "response": { "status": 200, "headers": {}, "body": { "grade": "A" } } }

Only operation has to be there; method and path can stand in its place, and bodyText in that of body. With nothing but a response, no request
is checked.
`

export const fileChecks: readonly FileCheck[] = [
  {
    name: 'sample',
    option: '--sample <FILE>',
    description:
      'also check an example of a request or response against the contract; more of them by further --sample',
    help,
    exitCode: '--sample: or a message breaks the contract',
    example: 'check --sample request.json',
    notRun: 'lender-gateway: no sample was checked, because the file has problems\n',
    async run(samples, config, file) {
      const { checkSampleFiles, renderSamples } = await import('./sample-report.ts')
      const report = await checkSampleFiles(samples, config, file)
      return { ...report, json: { samples: report.samples }, text: renderSamples(report) }
    },
  },
]
