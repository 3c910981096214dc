import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ReloadOutcome } from '../../src/core/runtime/reload/reload-history.ts'
import type { Pair } from './certificates.ts'
import type { Settings } from './gateway.ts'
import { bootLiveGateway, type LiveGateway } from './live-gateway.ts'

/** Writes a pair as `listen.tls.certificates` has it. */
export const certificateEntry = ({ cert, key }: Pair) => ({ certificate: cert, key })

/** A gateway that speaks TLS with what stands in files beside its configuration. */
export interface TlsGateway extends LiveGateway {
  /** Replaces the first pair. */
  write(pair: Pair): void
  /** Reads all anew; nothing is watched. */
  reload(): Promise<ReloadOutcome>
}

/** Boots one with a pair; `tls` are the other keys of `listen.tls`, and `rest` all that is not `listen.tls`. */
export const bootTlsGateway = async (pair: Pair, tls: object = {}, rest: Settings = {}): Promise<TlsGateway> => {
  const settings = (first: object): Settings => ({
    ...rest,
    listen: { ...rest.listen, tls: { ...tls, certificates: [first] } },
  })
  const live = await bootLiveGateway(settings(certificateEntry(pair)))
  const write = ({ cert, key }: Pair): void => {
    writeFileSync(join(live.folder, 'tls.crt'), cert)
    writeFileSync(join(live.folder, 'tls.key'), key)
  }
  write(pair)
  live.edit(settings({ certificate: 'file:tls.crt', key: 'file:tls.key' }))
  return { ...live, write, reload: () => live.gateway.reload('request') }
}
