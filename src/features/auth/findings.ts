import {
  checkCommandLine,
  type Finding,
  type FindingSource,
  finding,
  wherePhrase,
} from '../../core/admin/findings/finding.ts'
import type { IssuerKeysState } from './tokens/jwt/jwks-cache.ts'

declare module '../../core/admin/findings/finding-inputs.ts' {
  interface FindingInputs {
    readonly operatorKeys: IssuerKeysState | null
  }
}

const fullShare = 0.9

export const tokenFindings: FindingSource = ({ report: { tokens }, operatorKeys, file }) => {
  const { jwt, introspection, proofs } = tokens
  const found: Finding[] = []
  const command = checkCommandLine(file.name, '--online') // fetches the keys of both
  if (jwt?.error != null) {
    const severity = jwt.keys === 0 ? 'critical' : 'warning'
    found.push(
      finding('issuer-keys-missing', severity, 'auth.jwt', { ...jwt, command }, (jwt) => [
        `the keys of the issuer (auth.jwt.jwks) cannot be had${wherePhrase(jwt)}: ${describeKeys(jwt)}`,
      ]),
    )
  }
  if (operatorKeys?.error != null)
    found.push(
      finding('operator-keys-missing', 'warning', 'admin.jwt', { ...operatorKeys, command }, (keys) => [
        `the keys of the issuer of operators (admin.jwt.jwks) cannot be had: ${describeKeys(keys)}`,
      ]),
    )
  if (introspection?.error != null)
    found.push(
      finding('introspection-fails', 'critical', 'auth.introspection', introspection, ({ where, error }) => [
        `the authorization server cannot be asked about tokens${wherePhrase({ where })}: ${error}`,
      ]),
    )
  if (proofs !== null && proofs.remembered >= fullShare * proofs.room)
    found.push(
      finding('proofs-full', 'warning', 'auth.dpop', proofs, ({ remembered, room }) => [
        `the memory of proofs is nearly full: ${remembered} of ${room}`,
      ]),
    )
  return found
}

const describeKeys = ({ keys, error }: Pick<IssuerKeysState, 'keys' | 'error'>): string =>
  `${error}: ${keys === 0 ? 'no token can be checked' : `the keys that are known (${keys}) are used on`}`
