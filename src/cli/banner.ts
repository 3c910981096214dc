import type { AddressInfo } from 'node:net'
import { catalog } from '../catalog.ts'
import type { Config } from '../config/config.ts'
import { table } from './gateway/table.ts'

/** Is one of the nine as start-up shows it. */
interface BannerRow {
  readonly operation: string
  readonly method: string
  readonly path: string
  readonly upstream: string
}

/** Lists the nine with what stands behind them. */
export const bannerRows = ({ listen, upstreams, operations }: Config): readonly BannerRow[] =>
  catalog.map(({ id, method, path, group }) => ({
    operation: id,
    method,
    path: listen.basePath + path,
    upstream: operations[id].state === 'refuse' ? 'refused by configuration' : names(upstreams[group].endpoints),
  }))

/** Says how to send a group elsewhere. */
export const howToReroute = (file: string): string =>
  `to reroute a group, edit its line under "upstreams" in ${file} and save it`

/** Renders what a terminal shows at start-up; so many workers serve. */
export const banner = (
  config: Config,
  { address, port, family }: AddressInfo,
  file: string,
  workers: number,
): string => {
  const rows = bannerRows(config)
  const cells = rows.map(({ operation, method, path, upstream }) => ['', method, path, operation, '->', upstream])
  const host = family === 'IPv6' ? `[${address}]` : address
  const by = workers === 1 ? '' : `, ${workers} workers serve`
  const url = `${config.listen.tls === null ? 'http' : 'https'}://${host}:${port}`
  return [`lender-gateway listens on ${url}${by}`, '', table(cells), '', howToReroute(file), ''].join('\n')
}

const names = (endpoints: Config['upstreams']['market']['endpoints']): string =>
  endpoints
    .map(({ origin, pathPrefix }) => (origin === 'sandbox' ? 'sandbox (embedded)' : origin + pathPrefix))
    .join(', ')
