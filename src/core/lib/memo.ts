export const weakMemo = <Key extends object, Value extends object>(
  compute: (key: Key) => Value,
): ((key: Key) => Value) => {
  const known = new WeakMap<Key, Value>()
  return (key) => {
    const before = known.get(key)
    if (before !== undefined) return before
    const value = compute(key)
    known.set(key, value)
    return value
  }
}

/** An object that is not frozen may have changed, and is computed again. */
export const frozenMemo = <Key extends object, Value extends object>(
  compute: (key: Key) => Value,
): ((key: Key) => Value) => {
  const memo = weakMemo(compute)
  return (key) => (Object.isFrozen(key) ? memo(key) : compute(key))
}

/** A failure, for want of a file descriptor say, is tried again at the next call. */
export const loadOnce = <T>(load: () => Promise<T>): (() => Promise<T>) => {
  let loading: Promise<T> | null = null
  return () => {
    loading ??= load().catch((error: unknown) => {
      loading = null
      throw error
    })
    return loading
  }
}

/** A value is created for its first user, and returned for closing after its last. */
export class RefCountedMap<T> {
  readonly #all = new Map<string, { readonly value: T; users: number }>()

  acquire(name: string, make: () => T): T {
    const entry = this.#all.get(name) ?? { value: make(), users: 0 }
    entry.users++
    this.#all.set(name, entry)
    return entry.value
  }

  release(name: string): T | null {
    const entry = this.#all.get(name)
    if (entry === undefined || --entry.users > 0) return null
    this.#all.delete(name)
    return entry.value
  }

  get(name: string): T | undefined {
    return this.#all.get(name)?.value
  }
}
