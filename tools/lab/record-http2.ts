/**
 * Records what real clients of HTTP/2 send, decrypted, for the fuzz of both codecs: `node tools/lab/record-http2.ts`.
 * Each asks a server of Node's, which stands behind the end of TLS.
 */
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http2 from 'node:http2'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import { promisify } from 'node:util'
import { Agent, fetch } from 'undici'
import { needCertificates } from '../../test/helpers/certificates.ts'
import { needProgram } from '../../test/helpers/program.ts'

const run = promisify(execFile)
const tests = join(import.meta.dirname, '..', '..', 'test', 'features', 'http2')
const { made } = await needCertificates()
const folder = mkdtempSync(join(tmpdir(), 'http2-recordings-'))
const page = `<script type=module>
  document.cookie = 'a=b'; document.cookie = 'c=d'
  await Promise.all([fetch('/a?b=c'), fetch('/valuation/score', { method: 'POST', body: '{"a":1}' })])
</script>`

const server = http2.createServer((request, response) => {
  if (request.url === '/page') return void response.writeHead(200, { 'content-type': 'text/html' }).end(page)
  request.resume().on('end', () => response.end('{"ok":true}'))
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
let received: Buffer[][] = []
const front = createServer({ ...made.right, ALPNProtocols: ['h2'] }, (socket) => {
  const chunks: Buffer[] = []
  received.push(chunks)
  const inner = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => inner.destroy())
  socket.pipe(inner).on('error', () => socket.destroy())
  inner.pipe(socket)
})
await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
const origin = `https://127.0.0.1:${(front.address() as AddressInfo).port}`
const get = `${origin}/market/insights?a=b`
const post = `${origin}/valuation/score`

const program = async (name: string): Promise<string> => (await needProgram(name)).path ?? name
const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}
const body = file('body.json', '{"amount":250000,"term":"30y","borrower":{"name":"Zo\u00eb"}}')

const python = `import httpx
with httpx.Client(http2=True, verify=False, cookies={'a': 'b'}) as client:
    client.get('${get}', headers={'Authorization': 'Bearer abc', 'X-Request-Id': 'r-1'})
    client.post('${post}', json={'a': 1})
    client.post('${post}', content=iter([b'{"a":', b'1}']))
`
const go = `package main
import ("bytes"; "crypto/tls"; "io"; "net/http")
func main() {
  tls := &tls.Config{InsecureSkipVerify: true}
  client := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: tls}}
  ask := func(method, url string, body io.Reader) {
    request, _ := http.NewRequest(method, url, body)
    request.Header.Set("Authorization", "Bearer abc")
    if body != nil { request.Trailer = http.Header{"X-Sum": []string{"1"}} }
    response, err := client.Do(request)
    if err != nil { panic(err) }
    io.Copy(io.Discard, response.Body)
    response.Body.Close()
  }
  ask("GET", "${get}", nil)
  ask("POST", "${post}", bytes.NewBufferString("{}"))
  ask("POST", "${post}", io.MultiReader(bytes.NewBufferString("{"), bytes.NewBufferString("}")))
}
`
const askWithNode = async (): Promise<void> => {
  const session = http2.connect(origin, { rejectUnauthorized: false })
  type End = (stream: http2.ClientHttp2Stream) => unknown
  const ask = (fields: http2.OutgoingHttpHeaders, end: End): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const stream = session.request(fields, { endStream: false, waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '1' }))
      end(stream.resume().on('close', resolve).on('error', reject))
    })
  const upload = { ':path': '/valuation/score', ':method': 'POST' }
  await ask({ ':path': '/market/insights', cookie: ['a=b', 'c=d'] }, (stream) => stream.end())
  await ask({ ...upload, 'content-length': 2 }, (stream) => stream.end('{}'))
  await ask(upload, (stream) => stream.close(http2.constants.NGHTTP2_CANCEL))
  await new Promise<void>((resolve) => session.ping(() => session.close(resolve)))
}
const askWithUndici = async (): Promise<void> => {
  const dispatcher = new Agent({ allowH2: true, connect: { rejectUnauthorized: false } })
  const upload = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }
  await (await fetch(get, { dispatcher })).text()
  await (await fetch(post, { ...upload, dispatcher })).text()
  await dispatcher.close()
}
const askWithJava = async (): Promise<void> => {
  const source = join(tests, 'wire', 'http2-clients', 'Posts.java')
  const trusting = '-Djdk.internal.httpclient.disableHostnameVerification'
  const child = spawn(await program('java'), [trusting, source], { stdio: ['pipe', 'ignore', 'inherit'] })
  child.stdin.end(`1 ${post}\n2 ${post}\n`)
  await new Promise((resolve) => child.once('exit', resolve))
}

const quietly = `-sS -k --http2 -o ${folder}/out`
const posting = `--next ${quietly} --json @${body} ${post} --next ${quietly} -I ${get}`
const padding = `-n --padding=9 -d ${body} --trailer x-sum:1 -W 12 --header-table-size=100 ${post}`
const chromium = `--no-sandbox --ignore-certificate-errors --virtual-time-budget=3000 --dump-dom ${origin}/page`
type Client = readonly [name: string, program: string, version: readonly string[], ask: string | (() => Promise<void>)]
/** With the arguments that say the version, and those that ask. */
const clients: readonly Client[] = [
  ['curl', 'curl', ['--version'], `${quietly} -H Authorization:abc -b a=b;c=d ${get} ${posting}`],
  ['nghttp', 'nghttp', ['--version'], `-n -m 2 -H x-a:b ${get} ${origin}/b`],
  ['nghttp --padding', 'nghttp', ['--version'], padding],
  ['h2load', 'h2load', ['--version'], `-n 4 -c 1 -m 2 -d ${body} -H x-a:b ${post}`],
  ['python-h2 (httpx)', 'python3', ['-c', 'import h2; print(h2.__version__)'], file('ask.py', python)],
  ['Java HttpClient', 'java', ['-version'], askWithJava],
  ['Go net/http', 'go', ['version'], `run ${file('ask.go', go)}`],
  ['Node http2', 'node', ['--version'], askWithNode],
  ['undici', 'node', ['-p', 'require("undici/package.json").version'], askWithUndici],
  ['Chromium', 'chromium-headless-shell', ['--version'], chromium],
]
const recordings: Record<string, string> = {}
for (const [name, programName, version, ask] of clients) {
  received = []
  const path = programName === 'python3' ? '/usr/bin/python3' : await program(programName)
  const { stdout, stderr } = await run(path, version)
  await (typeof ask === 'string' ? run(path, ask.split(' ')) : ask())
  const [longest] = received.map((chunks) => Buffer.concat(chunks)).sort((one, other) => other.length - one.length)
  recordings[`${name} ${/\d+\.\d[\d.]*/.exec(stdout + stderr)}`] = longest?.toString('base64') ?? ''
}
writeFileSync(join(tests, 'fuzz', 'recordings.json'), `${JSON.stringify(recordings, null, 2)}\n`)
rmSync(folder, { recursive: true })
process.exit()
