/** Clients of Debian's that upload a file many times and say what became of each. */
import { execFile, spawn } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { debianFile, type Program, program } from '../../../test/helpers/program.ts'

/** What a client is to upload, and where to. */
export interface Task {
  readonly file: string
  /** In turn, one for each upload. */
  readonly urls: readonly string[]
  readonly count: number
  readonly atOnce: number
  /** A folder for what is compiled. */
  readonly folder: string
}

/** A program that uploads. */
export interface UploadClient {
  readonly name: string
  readonly speaks: 'http/1' | 'h2'
  /** Finds or installs what it needs; the first that is missing says so. */
  need(): Promise<readonly Program[]>
  /** Uploads, and returns of each a status or what failed. */
  run(task: Task): Promise<readonly string[]>
}

/** Lists all of them. */
export const uploadClients = (): readonly UploadClient[] => [
  python('requests', 'requests'),
  python('urllib3', 'urllib3'),
  python('urllib', null),
  python('httpx', 'httpx'),
  { ...python('httpx-h2', 'httpx', 'h2'), speaks: 'h2' },
  {
    name: 'HTTP::Tiny',
    speaks: 'http/1',
    need: () => Promise.all([perl(), debianFile('/usr/share/perl5/IO/Socket/SSL.pm', 'libio-socket-ssl-perl')]),
    run: ({ file, urls, count, atOnce }) =>
      lines('/usr/bin/perl', [script('client.pl'), file, String(count), String(atOnce), ...urls]),
  },
  command('wget', (file, url) => [
    ...['-q', '-S', '-O', '/dev/null', '--tries=1', '--no-check-certificate', `--post-file=${file}`, url],
  ]),
  command('curl', (file, url) => curl(file, url, '--http1.1')),
  { ...command('curl', (file, url) => curl(file, url, '--http2')), name: 'curl-h2', speaks: 'h2' },
  java('HTTP_1_1'),
  java('HTTP_2'),
  go('HTTP_1_1'),
  go('HTTP_2'),
]

const script = (name: string): string => join(import.meta.dirname, name)

/** The one that Debian's packages belong to; another may stand before it on the PATH. */
export const pythonPath = '/usr/bin/python3'

/** Finds a module of Debian's Python. */
export const pythonModule = (name: string): Promise<Program> =>
  debianFile(`/usr/lib/python3/dist-packages/${name}/__init__.py`, `python3-${name}`)

/** Compiles a program into a folder, and returns its path. */
export const buildGo = async (source: string, folder: string): Promise<string> => {
  const made = join(folder, 'made')
  const env = { ...process.env, GOCACHE: join(folder, 'go'), GO111MODULE: 'off' }
  await promisify(execFile)('go', ['build', '-o', made, source], { env })
  return made
}

const perl = () => debianFile('/usr/bin/perl', 'perl')

function python(name: string, ...modules: readonly (string | null)[]): UploadClient {
  return {
    name,
    speaks: 'http/1',
    need: () =>
      Promise.all([
        debianFile(pythonPath, 'python3'),
        ...modules.filter((module) => module !== null).map(pythonModule),
      ]),
    run: ({ file, urls, count, atOnce }) =>
      lines(pythonPath, [script('client.py'), name, file, String(count), String(atOnce), ...urls]),
  }
}

const curl = (file: string, url: string, version: string): string[] => [
  ...['-sS', '-k', version, '-o', '/dev/null', '-w', '  HTTP/x %{http_code}\n', '-H', 'Expect:'],
  ...['--data-binary', `@${file}`, url],
]

/** A program that uploads once. It has its response when it says a status, and has not failed otherwise. */
function command(name: string, args: (file: string, url: string) => readonly string[]): UploadClient {
  return {
    name,
    speaks: 'http/1',
    need: async () => [await program(name)],
    async run({ file, urls, count, atOnce }) {
      const said: string[] = []
      let begun = 0
      const worker = async (): Promise<void> => {
        while (begun < count) {
          const url = urls[begun++ % urls.length] as string
          const [all = ''] = [(await lines(name, args(file, url))).join(' ')]
          const status = /HTTP\/\S+ ([1-5]\d\d)/.exec(all)?.[1]
          said.push(status === undefined || /curl: \(/.test(all) ? all.trim() : status)
        }
      }
      await Promise.all(Array.from({ length: atOnce }, worker))
      return said
    },
  }
}

function java(version: 'HTTP_1_1' | 'HTTP_2'): UploadClient {
  return {
    name: version === 'HTTP_2' ? 'java-h2' : 'java',
    speaks: version === 'HTTP_2' ? 'h2' : 'http/1',
    need: async () => [await program('java'), await program('javac')],
    run: ({ file, urls, count, atOnce }) =>
      lines('java', [script('Upload.java'), version, file, String(count), String(atOnce), ...urls]),
  }
}

function go(version: 'HTTP_1_1' | 'HTTP_2'): UploadClient {
  return {
    name: version === 'HTTP_2' ? 'go-h2' : 'go',
    speaks: version === 'HTTP_2' ? 'h2' : 'http/1',
    need: async () => [await program('go')],
    async run({ file, urls, count, atOnce, folder }) {
      return lines(await buildGo(script('upload.go'), folder), [version, file, String(count), String(atOnce), ...urls])
    },
  }
}

/** Runs a program and lists what it prints on either stream. */
const lines = (path: string, args: readonly string[]): Promise<readonly string[]> =>
  new Promise((resolve, reject) => {
    const child = spawn(path, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    let text = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
    child.once('error', reject)
    child.once('close', () => resolve(text.split('\n').filter((line) => line.trim() !== '')))
  })
