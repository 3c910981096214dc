import { digestSecret } from '../../lib/secrets.ts'
import { validateIssuers } from '../certificates.ts'
import { operatorKeys } from '../config-part.ts'
import { coreSchema } from '../core-schema.ts'
import { type ConfigRule, findRepeats, listAt, parseAt, type UniqueEntry, valueAt } from './rule.ts'

const { shape } = coreSchema.shape.admin.unwrap()
const tokenShape = shape.tokens.unwrap().element.shape
const certificateShape = shape.tls.in.unwrap().shape.clientCertificate.in.unwrap().shape
const clientCertificatePath = ['admin', 'tls', 'clientCertificate']

/** Tells whether operators have to prove who they are. A broken credential counts: it has an issue of its own. */
export const hasCredential = (tree: unknown): boolean =>
  valueAt(tree, ['admin', 'token']) !== undefined ||
  listAt(tree, ['admin', 'tokens']).length > 0 ||
  operatorKeys().some(({ key }) => valueAt(tree, ['admin', key]) !== undefined) ||
  valueAt(tree, clientCertificatePath) !== undefined

const metricsToken: ConfigRule = (tree) => {
  const stated = parseAt(tree, shape.metricsToken, ['admin', 'metricsToken'])
  const isAlone = !hasCredential(tree)
  if (typeof stated !== 'string' || (!isAlone && parseAt(tree, shape.token, ['admin', 'token']) !== stated)) return null
  return {
    path: ['admin', 'metricsToken'],
    message: isAlone ? 'without admin.token everything is open' : 'this token opens everything',
    expected: 'another token than admin.token, beside it',
    found: isAlone ? 'no admin.token' : 'the same as admin.token',
    hint: 'make each with: openssl rand -hex 32',
  }
}

/** Rejects a token that stands in the section twice: it would not be clear whose it is, or what it is good for. */
const duplicateTokens: ConfigRule = (tree) => {
  const places = new Map<string, string>()
  for (const key of ['token', 'metricsToken'] as const) {
    const token = parseAt(tree, shape[key], ['admin', key])
    if (typeof token !== 'string') continue
    places.set(digestSecret(token).toString('hex'), `admin.${key}`)
    // A token of hex digits looks like a hash.
    places.set(token.toLowerCase(), `admin.${key} itself, and not its hash`)
  }
  return listAt(tree, ['admin', 'tokens']).map((_, index) => {
    const path = ['admin', 'tokens', index, 'hash']
    const hash = parseAt(tree, tokenShape.hash, path)
    const place = hash === undefined ? undefined : places.get(hash)
    if (hash !== undefined) places.set(hash, place ?? `admin.tokens[${index}]`)
    return (
      place !== undefined && {
        path,
        message: 'this token stands here already',
        expected: 'each token once',
        found: `that of ${place}`,
        hint: 'make another one with: lender-gateway hash-key --operator NAME',
      }
    )
  })
}

const clientCertificates: ConfigRule = (tree) => {
  const ca = parseAt(tree, certificateShape.ca, [...clientCertificatePath, 'ca'])
  const base = [...clientCertificatePath, 'operators']
  const names = listAt(tree, base).flatMap((_, index): readonly UniqueEntry[] => {
    const path = [...base, index, 'san']
    const name = parseAt(tree, certificateShape.operators.element.shape.san, path)
    return name === undefined ? [] : [{ name, path: () => path }]
  })
  return [
    ca !== undefined && validateIssuers([...clientCertificatePath, 'ca'], ca),
    findRepeats(names, 'a certificate of this name stands here already', 'remove one of them'),
  ]
}

export const operatorRules: readonly ConfigRule[] = [metricsToken, duplicateTokens, clientCertificates]
