/**
 * Tells whether something comes for the first time: positive when it does, negative when it came before, 0 when nobody can tell. Numbers,
 * because other processes and Redis answer with them.
 */
export type Told = number

/** Tells of each key whether it comes for the first time within a window. */
export interface Once {
  /** Notes a key: at once, or soon, when somebody else has to be asked. Never rejects, and nobody who cannot tell says that it is the first time. */
  note(key: string): Told | Promise<Told>
}

/** Is what is said of a key that nobody can tell anything about. */
export const unknown: Told = 0

/** Tells whether a key came for the first time. */
export const isFirst = (told: Told): boolean => told > 0
