import { type Connect, type Given, type Script, takeScript } from './connection.ts'

// Of one that is near enough to be asked for every request, this is plenty; and whoever comes back is tried again soon.
const connectMs = 500

// No burst is larger, so nobody has used more.
const most = 1_000_000

/**
 * Connects to Redis or Valkey by a URL such as `rediss://:password@host:6379/0`. The library is only loaded here: where no Redis is
 * configured, it costs nothing. It never connects again by itself and keeps nothing for later: that is decided in one place (link.ts).
 */
export const connectTo =
  (url: string): Connect =>
  async (lost) => {
    const { createClient, RESP_TYPES } = await import('@redis/client')
    const client = createClient({
      url,
      socket: { connectTimeout: connectMs, reconnectStrategy: false },
      disableOfflineQueue: true,
      disableClientInfo: true,
      // What else they can do is of no use here, and not every server knows it.
      RESP: 2,
      maintNotifications: 'disabled',
    })
    let isMade = false
    client.on('error', (error) => {
      if (isMade) lost(error)
    })
    client.on('end', () => {
      if (isMade) lost(new Error('the connection ended'))
    })
    const late = setTimeout(() => client.destroy(), connectMs) // a server that accepts and says nothing
    try {
      await client.connect()
      await client.scriptLoad(takeScript.text)
    } catch (error) {
      if (client.isOpen) client.destroy()
      throw error
    } finally {
      clearTimeout(late)
    }
    isMade = true
    if (!client.isReady) throw new Error('the connection ended')
    const asBytes = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer })
    const run = ({ text, sha }: Script, { keys, args }: Given): Promise<unknown> => {
      const given = { keys: [...keys], arguments: [...args] }
      // A server that was restarted behind a proxy, or was told to forget its scripts.
      return asBytes
        .evalSha(sha, given)
        .catch((error) => (isUnknown(error) ? asBytes.eval(text, given) : Promise.reject(error)))
    }
    return {
      run,
      async take(key, perMs, burst) {
        const answer = await run(takeScript, { keys: [key], args: [String(perMs), String(burst)] })
        const outcome = answer instanceof Buffer ? Number(answer.toString('latin1')) : Number.NaN
        const used = Math.abs(outcome)
        if (!(used > 0 && used <= most)) throw new Error('not an outcome')
        return outcome
      },
      destroy() {
        isMade = false
        if (client.isOpen) client.destroy()
      },
    }
  }

const isUnknown = (error: unknown): boolean => error instanceof Error && error.message.startsWith('NOSCRIPT')
