import { join } from 'node:path'
import { type ServeProcess, serve } from '../../helpers/serve-process.ts'
import { secretsBeside, textOf } from './configurations.ts'
import { scratch } from './files.ts'

/** A gateway that runs what a pod of the manifests runs. */
export interface Pod {
  readonly served: ServeProcess
  readonly adminPort: number
}

/** Starts one on the ConfigMap as it stands, but for its two ports, with the files of the Secrets beside it. */
export const startPod = async (): Promise<Pod> => {
  const text = textOf('kubernetes').replace('port: 8080', 'port: 0').replace('port: 9901', 'port: 0')
  const folder = scratch({ 'gateway.yaml': text, ...secretsBeside })
  const served = serve(join(folder, 'gateway.yaml'))
  const { port } = await served.line(({ msg }) => msg === 'admin listening')
  return { served, adminPort: Number(port) }
}
