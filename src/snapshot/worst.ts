/** Tells the worst of several workers as the one does that says so first, and in how many it is so; null: there is no worker. */
export const worstOf = <T extends { readonly since: number }>(
  workers: readonly T[],
  isBad: (worker: T) => boolean,
): (T & { readonly where: string | null }) | null => {
  const bad = workers.filter(isBad)
  const told = bad.length > 0 ? bad : workers
  const [first] = told.toSorted((a, b) => a.since - b.since)
  return first === undefined ? null : { ...first, where: inWorkers(told.length, workers.length) }
}

/** Says of how many workers something is true; null: of all. */
export const inWorkers = (are: number, all: number): string | null =>
  are === all ? null : `in ${are} of ${all} workers`
