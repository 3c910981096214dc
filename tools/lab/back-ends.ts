/**
 * Starts servers of other makes as back ends, each of which closes a connection that has been idle for so many seconds.
 */
import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { tempPaths } from '../../test/helpers/nginx.ts'
import { program } from '../../test/helpers/program.ts'
import { type Command, type Running, startServer } from '../bench/process.ts'

/** A server of another make, and the command that runs it; `null` when its program is not there. */
export interface BackEnd {
  readonly name: string
  readonly start: (directory: string, idleSeconds: number) => Promise<Running | { readonly missing: string }>
}

/** What every back end answers 200, and what a start is judged by. */
const probePath = '/'

const backEnd = (
  name: string,
  command: (path: string, place: { directory: string; port: number; idleSeconds: number }) => Promise<Command>,
): BackEnd => ({
  name,
  start: async (parent, idleSeconds) => {
    const found = await program(name)
    if (found.missing !== null) return found
    const directory = join(parent, name)
    await mkdir(directory)
    return startServer(directory, probePath, (port) => command(found.path, { directory, port, idleSeconds }))
  },
})

const nginx = backEnd('nginx', async (path, { directory, port, idleSeconds }) => {
  const file = join(directory, 'nginx.conf')
  await writeFile(
    file,
    `${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off; worker_processes 1; pid ${directory}/nginx.pid; error_log stderr warn;
events { worker_connections 1024; }
http {
  ${tempPaths(directory)}
  access_log off; keepalive_requests 100000; keepalive_timeout ${idleSeconds}s;
  server { listen 127.0.0.1:${port}; location / { return 200 "ok"; } }
}
`,
  )
  return { path, args: ['-p', directory, '-e', 'stderr', '-c', file] }
})

// Its default class of workers keeps no connection at all; of those that do, gthread comes with it.
const gunicorn = backEnd('gunicorn', async (path, { directory, port, idleSeconds }) => {
  await writeFile(
    join(directory, 'answering.py'),
    `def app(environ, start_response):
    environ['wsgi.input'].read()
    start_response('200 OK', [('Content-Length', '2')])
    return [b'ok']
`,
  )
  const args = ['--worker-class', 'gthread', '--threads', '8', '--keep-alive', String(idleSeconds)]
  return { path, args: [...args, '--bind', `127.0.0.1:${port}`, '--chdir', directory, 'answering:app'] }
})

const uvicorn = backEnd('uvicorn', async (path, { directory, port, idleSeconds }) => {
  await writeFile(
    join(directory, 'answering.py'),
    `async def app(scope, receive, send):
    while (await receive()).get('more_body'):
        pass
    await send({'type': 'http.response.start', 'status': 200, 'headers': [(b'content-length', b'2')]})
    await send({'type': 'http.response.body', 'body': b'ok'})
`,
  )
  const args = ['--no-access-log', '--lifespan', 'off', '--timeout-keep-alive', String(idleSeconds)]
  return { path, args: [...args, '--port', String(port), '--app-dir', directory, 'answering:app'] }
})

const go = backEnd('go', async (path, { directory, port, idleSeconds }) => {
  const source = join(directory, 'answering.go')
  const binary = join(directory, 'answering')
  await writeFile(
    source,
    `package main
import ("io"; "net/http"; "os"; "time")
func main() {
  answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body); w.Write([]byte("ok")) })
  server := http.Server{Addr: "127.0.0.1:" + os.Args[1], Handler: answer, IdleTimeout: ${idleSeconds} * time.Second}
  panic(server.ListenAndServe())
}
`,
  )
  const env = { ...process.env, GOCACHE: join(directory, 'cache'), GOFLAGS: '-mod=mod', GO111MODULE: 'off' }
  await promisify(execFile)(path, ['build', '-o', binary, source], { env })
  return { path: binary, args: [String(port)] }
})

/** The servers of the drill, in the order of its table. */
export const backEnds: readonly BackEnd[] = [nginx, gunicorn, go, uvicorn]
