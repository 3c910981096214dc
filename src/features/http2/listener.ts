import type { ListenConfig } from '../../core/config/config.ts'
import type { NegotiatedProtocol, ProtocolOptions } from '../../core/downstream/listener/listener-part.ts'

/** Off, a listener loads nothing of HTTP/2. */
export const openProtocol = (options: ProtocolOptions): Promise<NegotiatedProtocol> | null =>
  options.getListenerConfig().config.listen.http2
    ? import('./sessions.ts').then(({ createHttp2Sessions }) => createHttp2Sessions(options))
    : null

export const describe = ({ http2 }: ListenConfig): object => ({ http2 })
