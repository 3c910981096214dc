/** Runs a real Prometheus on the configuration and the rules that are shipped. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parse, stringify } from 'yaml'
import { endProcess } from './end-process.ts'
import { onFreePort } from './free-port.ts'

/** One series at a moment. */
export interface Point {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface Prometheus {
  /** Asks for what an expression is just now. Throws when it is none. */
  query(expression: string): Promise<readonly Point[]>
  /** Lists what has fired so far, each alert once. */
  fired(): Promise<readonly string[]>
  close(): Promise<void>
}

const examples = fileURLToPath(new URL('../../config/examples/prometheus/', import.meta.url))
const read = (name: string): string => readFileSync(join(examples, name), 'utf8')

// A machine that is busy with other tests takes its time over a response, and one that comes later than that is none.
const interval = '1s'
/** The window that an expression needs to see a rate. */
export const window = '6s'

/** Starts it on what listens for operators at a port; `more` is what the example has as comments. */
export const startPrometheus = async (
  path: string,
  admin: number,
  more: Readonly<Record<string, unknown>> = {},
): Promise<Prometheus> => {
  const { scrape_configs, ...config } = parse(read('prometheus.yml'))
  const [job] = scrape_configs
  const static_configs = [{ targets: [`127.0.0.1:${admin}`] }]
  return runPrometheus(path, { ...config, scrape_configs: [{ ...job, static_configs, ...more }] })
}

/** Starts it on a configuration, with the rules beside it, and has it look every second. */
export const runPrometheus = async (path: string, given: Readonly<Record<string, unknown>>): Promise<Prometheus> => {
  const folder = mkdtempSync(join(tmpdir(), 'prometheus-'))
  const config = { ...given, global: { scrape_interval: interval, evaluation_interval: interval } }
  writeFileSync(join(folder, 'prometheus.yml'), stringify(config))
  writeFileSync(join(folder, 'alerts.yml'), hurried(read('alerts.yml')))
  return onFreePort(async (port) => {
    const args = [
      ...[`--config.file=${join(folder, 'prometheus.yml')}`, `--storage.tsdb.path=${join(folder, 'data')}`],
      ...[`--web.listen-address=127.0.0.1:${port}`, '--log.level=warn'],
    ]
    const env = { ...process.env, GOMAXPROCS: '1' }
    const child = spawn(path, args, { stdio: ['ignore', 'inherit', 'pipe'], env })
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
    if (!(await isReady(child, port))) throw new Error(`prometheus did not start: ${said}`)
    return running(child, port, folder)
  })
}

/**
 * Shortens what rules wait for and look back on, and changes nothing else of them. What waits for a target that is
 * absent goes on waiting: before its first look, Prometheus has none.
 */
const hurried = (rules: string): string =>
  rules.replaceAll(/(?<!absent\(.*\n)^( +for: )\w+$/gm, '$12s').replaceAll(/\[\d+[mh]\]/g, `[${window}]`)

const isReady = async (child: ChildProcess, port: number): Promise<boolean> => {
  for (let tries = 0; tries < 600 && child.exitCode === null; tries++) {
    const response = await fetch(`http://127.0.0.1:${port}/-/ready`).catch(() => null)
    if (response?.ok === true) return true
    await pause(50)
  }
  child.kill('SIGKILL')
  return false
}

interface PrometheusResponse {
  readonly data: {
    readonly result: readonly { readonly metric: Point['labels']; readonly value: readonly [number, string] }[]
  }
}

const running = (child: ChildProcess, port: number, folder: string): Prometheus => {
  const query = async (expression: string): Promise<readonly Point[]> => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/query`, {
      method: 'POST',
      body: new URLSearchParams({ query: expression }),
    })
    if (!response.ok) throw new Error(`${expression}: ${await response.text()}`)
    const { data } = (await response.json()) as PrometheusResponse
    return data.result.map(({ metric: labels, value: [, value] }) => ({ labels, value: Number(value) }))
  }
  return {
    query,
    async fired() {
      const points = await query('count_over_time(ALERTS{alertstate="firing"}[1h])')
      return [...new Set(points.map(({ labels }) => labels.alertname ?? ''))].sort()
    },
    async close() {
      await endProcess(child, 'SIGKILL')
      rmSync(folder, { recursive: true })
    },
  }
}
