import { catalog, type Operation } from '../catalog.ts'

/** Finds what stands at a path, byte for byte; undefined: nothing does. */
export type Routes = ReadonlyMap<string, Operation>

/** Lays out the nine under `{base_url}`'s path. Each path has one method. */
export const routes = (basePath: string): Routes =>
  new Map(catalog.map((operation) => [basePath + operation.path, operation]))
