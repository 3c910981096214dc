/** Reads what is shipped for running the gateway: the Dockerfile, the image's configuration and the examples. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAllDocuments } from 'yaml'

/** The project's root. */
export const root = fileURLToPath(new URL('../../..', import.meta.url))

/** The folder of the examples, below the root. */
export const examples = 'config/examples'

/** Reads a file by its path below the root. */
export const read = (path: string): string => readFileSync(join(root, path), 'utf8')

export { folderWith as scratch } from '../../core/config/helper.ts'

/** What a YAML document holds. */
export type Tree = Readonly<Record<string, unknown>>

/** Reads every document of a YAML text; throws on an error or warning of syntax. */
export const documentsOf = (text: string): readonly Tree[] =>
  parseAllDocuments(text).map((document) => {
    const [problem] = [...document.errors, ...document.warnings]
    if (problem !== undefined) throw problem
    return document.toJS()
  })

/** Reads the first document of an example. */
export const exampleOf = (path: string): Tree => documentsOf(read(`${examples}/${path}`))[0] as Tree

const kubernetes = `${examples}/kubernetes`

/** Reads the configuration of the gateways in Kubernetes: the base, or the overlay that is named. */
export const kubernetesConfig = (overlay: 'base' | 'demo' | 'production' = 'base'): string =>
  read(`${kubernetes}/${overlay === 'base' ? overlay : `overlays/${overlay}`}/gateway.yaml`)

/** Lists the Kubernetes manifests, each file with its documents: those of the base first, no patches. */
export const manifests: readonly { readonly file: string; readonly manifest: Tree }[] = readdirSync(
  join(root, kubernetes),
  { recursive: true, encoding: 'utf8' },
)
  .filter((file) => file.endsWith('.yaml') && !/(\/kustomization|\/gateway|-patch)\.yaml$/.test(file))
  .sort()
  .flatMap((file) => documentsOf(read(`${kubernetes}/${file}`)).map((manifest) => ({ file, manifest })))

/** Walks into a tree; throws where there is no such key. */
export const at = (tree: unknown, ...path: readonly (string | number)[]): unknown =>
  path.reduce<unknown>((value, key) => {
    if (typeof value !== 'object' || value === null || !(key in value))
      throw new Error(`no ${key} of ${path.join('.')}`)
    return (value as Readonly<Record<string | number, unknown>>)[key]
  }, tree)

/** Finds the manifest of a kind, that of the base where there are several. */
export const manifestOf = (kind: string): Tree => {
  const found = manifests.find(({ manifest }) => manifest.kind === kind)
  if (found === undefined) throw new Error(`no manifest of kind ${kind}`)
  return found.manifest
}

/** What runs a pod of the gateway: its labels, its specification, and its one container. */
const template = at(manifestOf('Deployment'), 'spec', 'template')
export const labels = at(template, 'metadata', 'labels') as Tree
export const pod = at(template, 'spec') as Tree
export const container = at(pod, 'containers', 0) as Tree

/** What Compose starts. */
export const compose = exampleOf('compose/compose.yaml')
