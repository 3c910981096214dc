import { callAdmin, decodeResponse } from '../../core/cli/client/admin-client.ts'
import { locateGateway, type TargetOptions, targetUrl } from '../../core/cli/client/admin-target.ts'
import { writeOutputFile } from '../../core/cli/output-file.ts'
import { formatJson, warnAboutTarget } from '../../core/cli/render/output.ts'
import { asObject, asText } from '../../core/lib/text/decode.ts'

export interface DraftOptions extends TargetOptions {
  readonly format: 'yaml' | 'json'
  readonly output?: string
  readonly force?: true
}

// Drafts of this size come from nine operations that reach every bound of learning.
const maxBytes = 64 * 1024 ** 2
const timeoutMs = 30_000

export const showContractDraft = async ({
  format,
  output = '-',
  force,
  ...targetOptions
}: DraftOptions): Promise<number> => {
  const target = await locateGateway(targetOptions)
  const { status, body } = await callAdmin(target, { method: 'GET', path: '/contract/draft', timeoutMs, maxBytes })
  warnAboutTarget(target)
  if (status !== 200) {
    const { detail } = decodeResponse(target, body, asObject({ detail: asText }))
    process.stderr.write(`lender-gateway: ${targetUrl(target)} has no draft: ${detail}\n`)
    return 1
  }
  decodeResponse(target, body, asObject({ openapi: asText }))
  const text =
    format === 'json' ? formatJson(body) : (await import('../../core/config/yaml/yaml-document.ts')).formatYaml(body)
  if (output === '-') process.stdout.write(text)
  else {
    await writeOutputFile(output, text, { force: force === true, mode: 0o666 })
    process.stdout.write(`${output}: written; edit it, name it in contract.file, and check\n`)
  }
  return 0
}
