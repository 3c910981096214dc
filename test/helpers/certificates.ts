import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { needProgram } from './program.ts'

/** A key and its certificate, as PEM. */
export interface Pair {
  readonly key: string
  readonly cert: string
}

export interface Certificates {
  /** Signs the others. */
  readonly authority: Pair
  /** Names `localhost` and 127.0.0.1. */
  readonly right: Pair
  /** Names what `right` does, as its renewal would. */
  readonly renewed: Pair
  /** Names what `right` does, for ten days. */
  readonly ending: Pair
  /** Names `*.wild.test` only. */
  readonly wild: Pair
  /** Names `other.test` only. */
  readonly wrongName: Pair
  /** Names the right host, until the year 2021. */
  readonly expired: Pair
  /** Names the right host, self-signed. */
  readonly selfSigned: Pair
  /** Names no host: what a client shows for itself. */
  readonly client: Pair
  /** Another client's, good for an hour. */
  readonly brief: Pair
  /** An authority below `authority`, and what it has issued: for `localhost` and 127.0.0.1, and for clients. */
  readonly issuing: Pair
  readonly issued: Pair
  /** Of a client that is known by `dns:bank-a.example`, with its URI. */
  readonly bankA: Pair
  /** Names what `bankA` does, and is self-signed. */
  readonly forgedA: Pair
  /** The authority's list of revoked certificates: empty, and with `client`. */
  readonly noneRevoked: string
  readonly clientRevoked: string
  /** The lists of `issuing`: empty, and with `issued`. */
  readonly noneOfIssuedRevoked: string
  readonly issuedRevoked: string
}

// Made once for all the files of a run: `openssl` is started 32 times for it.
const cached = fileURLToPath(
  new URL('../../node_modules/.cache/tests/certificates-of-two-authorities.json', import.meta.url),
)

// Far less than `brief` is good for.
const maxAgeMs = 20 * 60_000

let made: Certificates | null = null

/** Returns the certificates of the tests; they are made with the program at `openssl` where none are there. */
export const makeCertificates = (openssl: string): Certificates => {
  made ??= readCached()
  if (made === null) {
    made = createCertificates(openssl)
    writeCached(made)
  }
  return made
}

/**
 * Makes them for a test file: `describe.skipIf(missing)(…)`. They are empty where `openssl` is missing, so that a suite
 * that is skipped can be read.
 */
export const needCertificates = async (): Promise<{ readonly made: Certificates; readonly missing: string | null }> => {
  const { path, missing } = await needProgram('openssl')
  const none = new Proxy({} as Certificates, { get: (): Pair => ({ key: '', cert: '' }) })
  return { made: path === null ? none : makeCertificates(path), missing }
}

const readCached = (): Certificates | null => {
  try {
    return Date.now() - statSync(cached).mtimeMs < maxAgeMs ? JSON.parse(readFileSync(cached, 'utf8')) : null
  } catch {
    return null // there are none
  }
}

/** Writes them whole: other workers read them meanwhile. */
const writeCached = (certificates: Certificates): void => {
  const next = `${cached}.${randomUUID()}`
  mkdirSync(dirname(cached), { recursive: true })
  writeFileSync(next, JSON.stringify(certificates), { mode: 0o600 })
  renameSync(next, cached)
}

const createCertificates = (openssl: string): Certificates => {
  const folder = mkdtempSync(join(tmpdir(), 'certificates-'))
  const at = (name: string): string => join(folder, name)
  const run = (...args: readonly string[]): void => {
    execFileSync(openssl, args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  }
  const pair = (name: string): Pair => ({
    key: readFileSync(at(`${name}.key`), 'utf8'),
    cert: readFileSync(at(`${name}.pem`), 'utf8'),
  })
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const ours = 'subjectAltName=DNS:localhost,IP:127.0.0.1'
  const forClients = 'extendedKeyUsage=clientAuth'
  const issuingExtensions = 'basicConstraints=critical,CA:TRUE\nkeyUsage=keyCertSign,cRLSign'
  const byIssuing = ['-keyfile', 'issuing.key', '-cert', 'issuing.pem']
  const namesOfA = 'subjectAltName=DNS:Bank-A.example,URI:urn:bank:a'

  const selfSign = (name: string, ...extensions: readonly string[]): Pair => {
    const added = extensions.flatMap((extension) => ['-addext', extension])
    run('req', '-x509', ...newKey, '-keyout', `${name}.key`, '-out', `${name}.pem`, '-subj', `/CN=${name}`, ...added)
    return pair(name)
  }
  const sign = (name: string, extension: string, start: string, end: string, issuer: readonly string[] = []): Pair => {
    run('req', '-new', ...newKey, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`)
    writeFileSync(at('extensions'), extension)
    run(
      ...['ca', '-batch', '-config', 'ca.cnf', '-in', `${name}.csr`, '-out', `${name}.pem`, '-extfile', 'extensions'],
      ...['-startdate', start, '-enddate', end, '-notext'],
      ...issuer,
    )
    return pair(name)
  }

  const list = (name: string, issuer: readonly string[] = []): string => {
    run('ca', '-config', 'ca.cnf', '-gencrl', '-crldays', '36500', '-out', name, ...issuer)
    return readFileSync(at(name), 'utf8')
  }

  try {
    writeFileSync(at('index'), '')
    writeFileSync(at('serial'), '01\n')
    writeFileSync(at('ca.cnf'), caConfig)
    const authority = selfSign('authority')
    const made = {
      authority,
      right: sign('right', ours, '20200101000000Z', '21200101000000Z'),
      renewed: sign('renewed', ours, '20200101000000Z', '21200101000000Z'),
      ending: sign('ending', ours, '20200101000000Z', asn1(Date.now() + 10 * 86_400_000)),
      wild: sign('wild', 'subjectAltName=DNS:*.wild.test', '20200101000000Z', '21200101000000Z'),
      wrongName: sign('wrong', 'subjectAltName=DNS:other.test', '20200101000000Z', '21200101000000Z'),
      expired: sign('expired', ours, '20200101000000Z', '20210101000000Z'),
      selfSigned: selfSign('self', ours),
      client: sign('client', 'extendedKeyUsage=clientAuth', '20200101000000Z', '21200101000000Z'),
      bankA: sign('bank-a', `${forClients}\n${namesOfA}`, '20200101000000Z', '21200101000000Z'),
      forgedA: selfSign('bank-a', forClients, namesOfA),
      brief: sign('brief', 'extendedKeyUsage=clientAuth', '20200101000000Z', asn1(Date.now() + 3_600_000)),
      issuing: sign('issuing', issuingExtensions, '20200101000000Z', '21200101000000Z'),
      issued: sign('issued', ours, '20200101000000Z', '21200101000000Z', byIssuing),
      noneRevoked: list('none.crl'),
      noneOfIssuedRevoked: list('issuing-none.crl', byIssuing),
    }
    run('ca', '-config', 'ca.cnf', '-revoke', 'client.pem')
    run('ca', '-config', 'ca.cnf', '-revoke', 'issued.pem')
    return { ...made, clientRevoked: list('client.crl'), issuedRevoked: list('issuing.crl', byIssuing) }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Writes a moment as `openssl ca` has it: 20261231235959Z. */
const asn1 = (ms: number): string => new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, '')

const caConfig = `
[ca]
default_ca = test
[test]
database = index
serial = serial
new_certs_dir = .
certificate = authority.pem
private_key = authority.key
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
`
