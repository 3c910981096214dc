/** @typedef {{ at: string, title: string, assets: string, sections: Record<string, string>, charts?: import('./charts.js').Charts }} Tick */
/**
 * @typedef {object} Listener
 * @property {(tick: Tick) => void} onTick
 * @property {(why: string) => void} onStale
 * @property {() => void} onSessionOver
 */

// Three ticks are missing.
const staleMs = 3500
const reconnectMs = 3000

/** Only while the page is visible: a browser has few connections per origin. @param {Listener} listener */
export const listen = ({ onTick, onStale, onSessionOver }) => {
  /** @type {EventSource | null} */
  let source = null
  let lastTick = performance.now()
  let ended = false

  const open = () => {
    if (source !== null || ended || document.hidden) return
    lastTick = performance.now()
    const opened = new EventSource('/events')
    source = opened
    opened.addEventListener('tick', ({ data }) => {
      lastTick = performance.now()
      onTick(JSON.parse(data))
    })
    opened.addEventListener('end', ({ data }) => {
      if (data === 'session') return endSession()
      onStale('the gateway stops, or another process takes its place')
    })
    opened.addEventListener('error', () => {
      if (opened.readyState !== EventSource.CLOSED) return onStale('the gateway cannot be reached')
      close()
      void reportRejection()
    })
  }
  const close = () => {
    source?.close()
    source = null
  }
  const endSession = () => {
    ended = true
    close()
    onSessionOver()
  }
  /** The error event of a rejected stream has no reason. */
  const reportRejection = async () => {
    const { status, detail } = await reason()
    if (status === 401) return endSession()
    onStale(detail)
    setTimeout(open, reconnectMs)
  }

  document.addEventListener('visibilitychange', () => {
    if (document.hidden) close()
    else open()
  })
  addEventListener('pagehide', close)
  addEventListener('pageshow', open)
  setInterval(() => {
    if (!ended && source !== null && performance.now() - lastTick > staleMs)
      onStale('the gateway has sent nothing for 3.5 s')
  }, 1000)
  open()
}

/** @returns {Promise<{ status: number, detail: string }>} */
const reason = async () => {
  const aborter = new AbortController()
  try {
    const response = await fetch('/events', { signal: aborter.signal, headers: { Accept: 'application/problem+json' } })
    if (response.redirected) return { status: 401, detail: '' }
    if (response.ok) return { status: 200, detail: 'the gateway has ended the stream' }
    const { detail } = await response.json()
    return { status: response.status, detail: String(detail) }
  } catch {
    return { status: 0, detail: 'the gateway cannot be reached' }
  } finally {
    aborter.abort()
  }
}
