/** Values of responses are told nowhere unless the file asks for examples: no report, no page, no line of the log. */
import { expect, test } from 'vitest'
import { withCandidate } from '../../../helpers/candidate.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

const secrets = ['hunter-secret', 'Jane Doe', 'jane@secret.example', '4929123412341234', '98765.4321']

const leaksIn = (text: string): readonly string[] => secrets.filter((secret) => text.includes(secret))

/** Has responses compared that differ in secrets; returns all that an operator can read then. */
const readAll = async (compare: object): Promise<Readonly<Record<string, string>>> => {
  const responding = (at: number) =>
    httpUpstream((_, response) => {
      const [password, name, mail, card, salary] = secrets.map((_, i) => secrets[(i + at) % secrets.length])
      response.writeHead(200, { 'Content-Type': 'application/json', 'X-Owner': name })
      const paid = Number.isNaN(Number(salary)) ? salary : Number(salary)
      response.end(JSON.stringify({ p: password, people: [{ name, mail }], [String(card)]: 1, salary: [paid] }))
    })
  const [primary, candidate] = [await responding(0), await responding(1)]
  const shadow = { sample: '100%', compare: { fields: ['X-Owner'], ...compare } }
  const live = await bootLiveGateway({
    log: { level: 'debug' },
    ...withCandidate(primary.url, candidate.url, { shadow }),
  })
  for (let n = 0; n < 20; n++) await (await fetch(`${live.url}/market/insights`)).arrayBuffer()
  const read = async (path: string) => (await fetch(live.admin + path, { headers: { Accept: '*/*' } })).text()
  await expect.poll(async () => JSON.parse(await read('/shadow')).comparisons[0].compared, { timeout: 30_000 }).toBe(20)
  const paths = ['/', '/status', '/overview', '/shadow', '/metrics', '/rejected', '/config']
  const texts = await Promise.all(paths.map(async (path) => [path, await read(path)] as const))
  return { ...Object.fromEntries(texts), log: JSON.stringify(live.lines) }
}

test('values are in no report, no page, no metric and no line of the log', async () => {
  const all = await readAll({})

  expect(Object.entries(all).filter(([, text]) => leaksIn(text).length > 0)).toEqual([])
  expect(all['/shadow']).toContain('"pointer":"/people/*/mail"')
  expect(all['/status']).toContain('/people/*/name differs')
})

test('with compare.examples values are in the report and on the page, and nowhere else', async () => {
  const all = await readAll({ examples: true })

  const leaking = Object.entries(all).flatMap(([place, text]) => (leaksIn(text).length > 0 ? [place] : []))
  expect(leaking.toSorted()).toEqual(['/', '/overview', '/shadow'])
  expect(leaksIn(all['/shadow'] ?? '')).toContain('Jane Doe')
})
