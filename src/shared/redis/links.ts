import type { Milliseconds } from '../../units.ts'
import { Kept } from '../kept.ts'
import { connectTo } from './client.ts'
import { RedisLink } from './link.ts'

/**
 * Takes out of a reason what the server may have repeated of what it was told: Redis lists the arguments of a command that it does not know, and
 * `AUTH` may be one (`rename-command`).
 */
export const withoutSecrets = (reason: string, url: string): string => {
  const { password } = new URL(url)
  const said = reason.replace(/,? with args beginning with:.*$/s, '')
  const secrets = [password, decodeURIComponent(password)].filter((secret) => secret !== '')
  return secrets.reduce((text, secret) => text.replaceAll(secret, '***'), said)
}

/** Is a Redis that several gateways have in common. */
export interface RedisSettings {
  readonly url: string
  readonly timeout: Milliseconds
  /** What every key begins with. */
  readonly prefix: string
}

/** Is told of each change, and why: without secrets. */
export type OnChange = (isShared: boolean, reason: string | null) => void

/**
 * Keeps the links of one kind of work as long as anybody needs them, one for each place. Another kind has links of its own, to the same place too:
 * what is large there does not hold up what is asked for here.
 */
export class Links {
  readonly #onChange: OnChange
  readonly #links = new Kept<RedisLink>()

  constructor(onChange: OnChange) {
    this.#onChange = onChange
  }

  /** Opens a link, or takes the one that there is, for as long as it is needed. */
  hold(redis: RedisSettings) {
    const place = JSON.stringify(redis)
    const link = this.#links.hold(place, () => this.#open(redis))
    return { link, release: (): void => this.#links.release(place)?.close() }
  }

  #open({ url, timeout: timeoutMs, prefix }: RedisSettings): RedisLink {
    return new RedisLink({
      connect: connectTo(url),
      timeoutMs,
      probeKey: `${prefix}:probe`,
      shown: (reason) => withoutSecrets(reason, url),
      onChange: this.#onChange,
    })
  }
}
