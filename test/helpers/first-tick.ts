/** Reads of the stream that keeps the page up to date until the first event is whole: it has every section. */
export const firstTick = async (url: string, token: string | null = null): Promise<string> => {
  const leave = new AbortController()
  const headers = token === null ? {} : { Authorization: `Bearer ${token}` }
  const { body } = await fetch(url, { headers, signal: leave.signal })
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    if (/^event: tick\ndata: .*\n\n/m.test(text)) break
  }
  leave.abort()
  return text
}
