/** Parts of features, loaded with the module of core that uses them. */
export class PartLoaders<Part> {
  readonly #loaders = new Map<string, () => Promise<Part>>()
  #loaded: Promise<ReadonlyMap<string, Part>> | null = null

  /** Call it before anything is loaded. */
  add(feature: string, load: (() => Promise<Part>) | undefined): void {
    if (load !== undefined) this.#loaders.set(feature, load)
  }

  /** Loads all once, in the order of the feature list. */
  byFeature(): Promise<ReadonlyMap<string, Part>> {
    this.#loaded ??= Promise.all(
      [...this.#loaders].map(async ([feature, load]) => [feature, await load()] as const),
    ).then((parts) => new Map(parts))
    return this.#loaded
  }

  async load(): Promise<readonly Part[]> {
    return [...(await this.byFeature()).values()]
  }
}

export const onlyOne = <Part, T>(parts: readonly Part[], find: (part: Part) => T | undefined): T | undefined => {
  const found = parts.flatMap((part) => find(part) ?? [])
  if (found.length > 1) throw new Error('several features bring a part that only one feature may bring')
  return found[0] as T | undefined
}
