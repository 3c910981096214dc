/** Loads a configuration in a thread of its own, for `load-aside.ts`. */
import { parentPort, workerData } from 'node:worker_threads'
import type { Environment } from './environment.ts'
import { loadConfig } from './load.ts'

const { file, environment }: { file: string; environment: Environment } = workerData
parentPort?.postMessage(loadConfig(file, environment))
