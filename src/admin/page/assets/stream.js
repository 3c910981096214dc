// @ts-check
// Listens to the gateway, and says when nothing is heard of it.

/** @typedef {{ at: string, title: string, assets: string, sections: Record<string, string>, charts?: Record<string, import('./charts.js').History> }} Tick */
/**
 * @typedef {object} Listener
 * @property {(tick: Tick) => void} onTick
 * @property {(why: string) => void} onStale
 * @property {() => void} onSessionOver
 */

// A tick a second: several in a row did not come.
const patienceMs = 3500
const againMs = 3000

/**
 * Listens for as long as the page can be seen: a browser has few connections for one origin, and a page that nobody sees needs none.
 * @param {Listener} listener
 */
export const listen = ({ onTick, onStale, onSessionOver }) => {
  /** @type {EventSource | null} */
  let source = null
  let heardAt = performance.now()
  let over = false

  const open = () => {
    if (source !== null || over || document.hidden) return
    heardAt = performance.now()
    const opened = new EventSource('/events')
    source = opened
    opened.addEventListener('tick', ({ data }) => {
      heardAt = performance.now()
      onTick(JSON.parse(data))
    })
    opened.addEventListener('end', ({ data }) => {
      if (data === 'session') return leave()
      onStale('the gateway stops, or another process takes its place')
    })
    opened.addEventListener('error', () => {
      if (opened.readyState !== EventSource.CLOSED) return onStale('the gateway is not reached')
      close()
      void whyNot()
    })
  }
  const close = () => {
    source?.close()
    source = null
  }
  const leave = () => {
    over = true
    close()
    onSessionOver()
  }
  /** A stream that is refused does not say why; whoever asks for it otherwise is told. */
  const whyNot = async () => {
    const { status, detail } = await reason()
    if (status === 401) return leave()
    onStale(detail)
    setTimeout(open, againMs)
  }

  document.addEventListener('visibilitychange', () => {
    if (document.hidden) close()
    else open()
  })
  addEventListener('pagehide', close)
  addEventListener('pageshow', open)
  setInterval(() => {
    if (!over && source !== null && performance.now() - heardAt > patienceMs) onStale('nothing is heard of the gateway')
  }, 1000)
  open()
}

/** @returns {Promise<{ status: number, detail: string }>} */
const reason = async () => {
  const asked = new AbortController()
  try {
    const answer = await fetch('/events', { signal: asked.signal, headers: { Accept: 'application/problem+json' } })
    if (answer.redirected) return { status: 401, detail: '' }
    if (answer.ok) return { status: 200, detail: 'the gateway has ended the stream' }
    const { detail } = await answer.json()
    return { status: answer.status, detail: String(detail) }
  } catch {
    return { status: 0, detail: 'the gateway is not reached' }
  } finally {
    asked.abort()
  }
}
