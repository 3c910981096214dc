/** Runs a real nginx as one release of a back end that responds in JSON, with defects that come and go. */
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startNginx } from './nginx.ts'

/** What a release of a back end may have wrong: a value in its responses, or a 500 for each. */
export type Defect = 'wrong-grade' | 'errors'

/** Records one request as the back end got it. */
export interface BackEndRequest {
  readonly path: string
  /** The value of X-Shadow; empty: it is no copy. */
  readonly shadow: string
  readonly authorization: string
}

export interface BackEnd {
  readonly origin: string
  /** Lets each response have the defect, until it is mended. */
  plant(defect: Defect): Promise<void>
  mend(defect: Defect): Promise<void>
  /** Reads what came so far, in order, without probes. */
  requests(): Promise<readonly BackEndRequest[]>
  stop(): Promise<void>
}

/**
 * Starts a release. Each path gets the same document, but for the time and an id in it, and with the release in
 * `X-Release`. `/healthz` is a health check.
 */
export const startBackEnd = async (path: string, release: string): Promise<BackEnd> => {
  const { directory, origin, stop } = await startNginx(path, (folder, port) => render(folder, port, release))
  const file = (defect: Defect): string => join(directory, defect)
  return {
    origin,
    plant: (defect) => writeFile(file(defect), ''),
    mend: (defect) => rm(file(defect)),
    async requests() {
      // A record is written before the one process turns to anything else.
      await fetch(`${origin}/up`)
      const text = await readFile(join(directory, 'requests.log'), 'utf8').catch(() => '')
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map((line): BackEndRequest => JSON.parse(line))
    },
    stop,
  }
}

const render = (directory: string, port: number, release: string): string => `
  log_format record escape=json
    '{"path":"$uri","shadow":"$http_x_shadow","authorization":"$http_authorization"}';
  keepalive_requests 1000000;
  server {
    listen 127.0.0.1:${port};
    access_log off;
    location = /up { return 200 "nginx $pid"; }
    location = /healthz { return 200; }
    location / {
      access_log ${directory}/requests.log record;
      default_type application/json;
      add_header X-Release ${release} always;
      set $grade A;
      if (-f ${directory}/wrong-grade) { set $grade B; }
      if (-f ${directory}/errors) { return 500; }
      return 200 '{"asset":"A-1","grade":"$grade","score":71.5,"generatedAt":"$time_iso8601","trace":"$request_id"}';
    }
  }`
