/** What features bring to one room of core: each part is loaded where the room is. */
export class PartLoaders<Part> {
  readonly #loaders = new Map<string, () => Promise<Part>>()
  #loaded: Promise<ReadonlyMap<string, Part>> | null = null

  /** Adds the part of a feature; undefined: it brings none. Call it before anything is loaded. */
  add(feature: string, load: (() => Promise<Part>) | undefined): void {
    if (load !== undefined) this.#loaders.set(feature, load)
  }

  /** Loads them once. By the names of the features, in the order of their list. */
  byFeature(): Promise<ReadonlyMap<string, Part>> {
    this.#loaded ??= Promise.all(
      [...this.#loaders].map(async ([feature, load]) => [feature, await load()] as const),
    ).then((parts) => new Map(parts))
    return this.#loaded
  }

  /** Loads them once, in the order of the list of features. */
  async load(): Promise<readonly Part[]> {
    return [...(await this.byFeature()).values()]
  }
}

/** Returns what one part has; undefined: none has it. Throws when several have it. */
export const onlyOne = <Part, T>(parts: readonly Part[], find: (part: Part) => T | undefined): T | undefined => {
  const found = parts.flatMap((part) => find(part) ?? [])
  if (found.length > 1) throw new Error('more than one feature brings what one alone may')
  return found[0] as T | undefined
}
