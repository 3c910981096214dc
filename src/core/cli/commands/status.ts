import { asObject, asText } from '../../lib/text/decode.ts'
import { getDecoded, getText } from '../client/admin-client.ts'
import { type AdminTarget, type ClientCommandOptions, locateGateway, targetUrl } from '../client/admin-target.ts'
import { printJson, warnAboutTarget } from '../render/output.ts'

/** The gateway renders the text, so this process loads nothing for it. */
export const showStatus = async ({ format, ...targetOptions }: ClientCommandOptions): Promise<number> => {
  const target = await locateGateway(targetOptions)
  if (format === 'json') {
    const { body, decoded } = await getDecoded(target, '/status', asObject({ version: asText }))
    warnAboutTarget(target, decoded.version)
    printJson(body)
  } else {
    const text = await getText(target, '/status', 'runs ')
    warnAboutTarget(target)
    process.stdout.write(`asked ${targetUrl(target)} (${renderCause(target)}), which ${text}`)
  }
  return 0
}

const renderCause = ({ file, isDefaultAddress }: AdminTarget): string => {
  if (file === null) return '--admin'
  return isDefaultAddress ? 'by default' : `admin in ${file}`
}
