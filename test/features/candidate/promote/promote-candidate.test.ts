/** What an operator finds in the file when the candidate has become the upstream. */
import { expect, test } from 'vitest'
import { promoteCandidate } from '../../../../src/features/candidate/promote/promote-candidate.ts'

test('the lines of the group alone change, and those of the candidate come with their comments', () => {
  const text = `version: 1
upstreams:
  # The risk engines.
  risk: # asked by all
    endpoints: [http://risk-1.internal, http://risk-2.internal] # since 2024

    tls: { ca: file:ca.pem }   # theirs
    timeouts: { connect: 1s } # near by
    retry: { attempts: 2 }
    # Next year's.
    candidate:
      # Three times as large.
      endpoints:
      - url: https://risk-next.internal # new
        weight: 3
      share: 5%
      timeouts: { headers: 5s }
      host: client
      # guard: none

    # That was risk.

  # Not to be touched.
  market:    sandbox
`

  const promoted = promoteCandidate(text, 'risk', {})

  expect(promoted).toBe(`version: 1
upstreams:
  # The risk engines.
  risk: # asked by all
    # Three times as large.
    endpoints:
    - url: https://risk-next.internal # new
      weight: 3

    tls: { ca: file:ca.pem }   # theirs
    timeouts: { connect: 1s, headers: 5s } # near by
    retry: { attempts: 2 }
    host: client

    # That was risk.

  # Not to be touched.
  market:    sandbox
`)
})

test('a candidate of one line is an endpoint, also one that a variable names', () => {
  const name = '$' + '{RISK_NEXT}'
  const text = (candidate: string) =>
    `upstreams:\n  risk:\n    endpoints:\n      - http://a.internal\n      - http://b.internal\n${candidate}`

  const plain = promoteCandidate(text('    candidate: http://next.internal # soon\n'), 'risk', {})
  const variable = promoteCandidate(text(`    candidate: ${name}\n    host: client`), 'risk', {})

  expect(plain).toBe('upstreams:\n  risk:\n    endpoints: [http://next.internal]\n')
  expect(variable).toBe(`upstreams:\n  risk:\n    endpoints: ["${name}"]\n    host: client`)
})

test('JSON stays JSON, in lines as before', () => {
  const risk = { endpoints: ['http://a.internal'], candidate: { endpoints: ['sandbox'], share: '5%' }, host: 'client' }
  const json = (value: object, indent: number) =>
    JSON.stringify({ upstreams: { risk: value, market: 'sandbox' } }, null, indent)
  const promoted = { endpoints: ['sandbox'], host: 'client' }

  expect(promoteCandidate(`${json(risk, 4)}\n`, 'risk', {})).toBe(`${json(promoted, 4)}\n`)
  expect(promoteCandidate(json(risk, 0), 'risk', {})).toBe(json(promoted, 0))
})

test('braces stay braces', () => {
  const render = (risk: string) => `upstreams:\n  risk: { ${risk}, timeouts: { connect: 1s } } # x\n`
  const text = render('endpoints: [http://a.internal], candidate: http://b.internal')

  expect(promoteCandidate(text, 'risk', {})).toBe(render('endpoints: [http://b.internal]'))
})

test('a policy that only the candidate turns on has its built-in values spelled out: defaults are not among them', () => {
  const text = `defaults: { outlier: { ejectionTime: 1m } }
upstreams:
  risk:
    endpoints: [http://a.internal]
    outlier: none
    candidate: { endpoints: [http://b.internal], outlier: { consecutiveFailures: 3 } }
`

  const promoted = promoteCandidate(text, 'risk', { outlier: { consecutiveFailures: 3, ejectionTime: '10s' } })

  expect(promoted).toContain('    outlier: { consecutiveFailures: 3, ejectionTime: 10s }\n')
  expect(promoted).toContain('defaults: { outlier: { ejectionTime: 1m } }')
})

test('comments that hold placeholders stay as they are, also where a key is printed again', () => {
  const text = `upstreams:
  risk:
    endpoints: [http://a.internal]
    timeouts:
      # As \${OLD} had it.
      connect: 1s # or \${CONNECT}
      # Once \${BODY}.
      body: 2s
    candidate:
      endpoints: [http://b.internal]
      timeouts:
        headers: 5s # not \${SLOW}
`

  const promoted = promoteCandidate(text, 'risk', {})

  expect(promoted).toContain(`headers: 5s # not \${SLOW}\n`)
  expect(promoted.match(/#.*/g)).toEqual(text.match(/#.*/g))
})
