/** Creates a function that computes once for each object, and keeps the result as long as the object lives. */
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

/** Does what {@link weakMemo} does for frozen objects. Another may have changed since, and is computed anew. */
export const frozenMemo = <Key extends object, Value extends object>(
  compute: (key: Key) => Value,
): ((key: Key) => Value) => {
  const memo = weakMemo(compute)
  return (key) => (Object.isFrozen(key) ? memo(key) : compute(key))
}
