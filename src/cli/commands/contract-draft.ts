import { asObject, asText } from '../../shared/decode.ts'
import { callAdmin } from '../client/admin-client.ts'
import { targetUrl } from '../client/admin-target.ts'
import { decodeResponse } from '../client/decode-response.ts'
import { locateGateway, type TargetOptions } from '../client/locate.ts'
import { printJson, warnAboutTarget } from '../render/output.ts'

/** The options of `contract draft`. */
export interface DraftOptions extends TargetOptions {
  readonly format: 'yaml' | 'json'
}

// As much as nine operations with every bound of learning reached.
const maxBytes = 64 * 1024 ** 2
const timeoutMs = 30_000

/** Gets the draft of a gateway and prints it; resolves to the exit code. */
export const showContractDraft = async ({ format, ...targetOptions }: DraftOptions): Promise<number> => {
  const target = await locateGateway(targetOptions)
  const { status, body } = await callAdmin(target, { method: 'GET', path: '/contract/draft', timeoutMs, maxBytes })
  warnAboutTarget(target)
  if (status !== 200) {
    const { detail } = decodeResponse(target, body, asObject({ detail: asText }))
    process.stderr.write(`lender-gateway: ${targetUrl(target)} has no draft: ${detail}\n`)
    return 1
  }
  if (format === 'json') printJson(body)
  else process.stdout.write((await import('../../config/yaml/format-yaml.ts')).formatYaml(body))
  return 0
}
