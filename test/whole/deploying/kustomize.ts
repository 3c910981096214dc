import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { needProgram, type Program, requireFound } from '../../helpers/program.ts'
import { documentsOf, examples, root, type Tree } from './files.ts'

const run = promisify(execFile)

/**
 * Finds a kubectl whose kustomize takes what the overlays use. That of Debian 12, 1.20, has kustomize 2.0, which takes
 * no folder as a resource; it does not tell its version either.
 */
export const needKubectl = async (): Promise<Program> => {
  const found = await needProgram('kubectl')
  if (found.missing !== null) return found
  const { stdout } = await run(found.path, ['version', '--client', '--output=json'])
  const { kustomizeVersion: version }: { readonly kustomizeVersion?: string } = JSON.parse(stdout)
  if (version !== undefined) return found
  return requireFound({ path: null, missing: 'kubectl is older than 1.24: it says nothing of its kustomize' })
}

/** Renders a folder of the Kubernetes examples, as `kubectl apply -k` does. Rejects with what kustomize says. */
export const render = async (kubectl: Program, folder: string): Promise<readonly Tree[]> => {
  const { stdout, stderr } = await run(kubectl.path ?? '', ['kustomize', join(root, examples, 'kubernetes', folder)])
  if (stderr !== '') throw new Error(stderr) // a field that is deprecated
  return documentsOf(stdout)
}
