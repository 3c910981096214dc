import { expect } from 'vitest'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

/** Boots a gateway with two cached operations; the upstream counts, and POSTs say what they have changed. */
export const boot = async (more = {}) => {
  let asked = 0
  const upstream = await httpUpstream(({ method, url }, response) => {
    asked++
    if (method === 'POST')
      response.writeHead(201, { Location: new URL(url ?? '/', 'http://x').searchParams.get('made') ?? '' })
    else response.setHeader('Cache-Control', 'max-age=60')
    response.end(`answer ${asked}`)
  })
  const settings = {
    upstream: upstream.url,
    operations: { 'market.insights': { cache: true }, 'leads.pipeline': { cache: true } },
    ...more,
  }
  const live = await bootLiveGateway(settings)
  const get = async (target: string): Promise<string> => {
    const response = await fetch(live.url + target)
    expect(response.status).toBe(200)
    return response.text()
  }
  const post = (made: string) =>
    fetch(`${live.url}/valuation/score?made=${encodeURIComponent(made)}`, { method: 'POST', body: '{}' }).then(
      (response) => response.text(),
    )
  return { ...live, upstream, settings, get, post, asked: () => asked }
}
