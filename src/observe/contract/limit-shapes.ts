import { childShapes, forgetItems, forgetMembers, type LearningContext, measureContext, type Shape } from './shape.ts'

/** The most shapes of a learner. */
const maxShapes = 4096

/**
 * Forgets shapes until the rest fits: the deepest objects and arrays, level by level, of the operation that has most.
 * What is above them keeps its names, and no client can crowd out what is known of another operation.
 */
export const limitShapes = (contexts: readonly LearningContext[]): void => {
  let total = 0
  for (const { shapes } of contexts) total += shapes
  while (total > maxShapes) {
    const [largest] = contexts.toSorted((a, b) => b.shapes - a.shapes)
    if (largest === undefined || largest.shapes === 0) return
    total -= largest.shapes
    forgetDeepest(largest, maxShapes - total)
    total += largest.shapes
  }
}

/** Forgets the deepest level at least, and as many as it takes to come down to `max`. */
const forgetDeepest = (context: LearningContext, max: number): void => {
  const levels = listLevels(context.listRoots())
  let below = context.shapes
  do {
    below -= levels.pop()?.length ?? 0
    for (const shape of levels.at(-1) ?? []) forgetContents(shape)
  } while (below > max && levels.length > 1)
  measureContext(context)
}

/** Lists the shapes of each depth, the roots first. */
const listLevels = (roots: readonly Shape[]): (readonly Shape[])[] => {
  const levels: (readonly Shape[])[] = []
  for (let level = roots; level.length > 0; level = level.flatMap(childShapes)) levels.push(level)
  return levels
}

const forgetContents = (shape: Shape): void => {
  if (childShapes(shape).length === 0) return
  if (shape.arrays !== null) forgetItems(shape.arrays)
  if (shape.objects !== null) forgetMembers(shape.objects)
}
