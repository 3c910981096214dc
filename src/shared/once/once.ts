/**
 * Tells whether something comes for the first time: positive when it does, negative when it came before, 0 when nobody can tell. Numbers,
 * because other processes and Redis answer with them.
 */
export type Told = number

/** Tells of each key whether it comes for the first time within a window. */
export interface Once {
  /**
   * Notes a key, which somebody has brought whose room it takes: at once, or soon, when somebody else has to be asked. Never rejects, and nobody
   * who cannot tell says that it is the first time. A key has no blanks.
   */
  note(key: string, owner: string): Told | Promise<Told>
}

/** Is what is said of a key that nobody can tell anything about. */
export const unknown: Told = 0

/** Tells whether a key came for the first time. */
export const isFirst = (told: Told): boolean => told > 0

/** Writes in one text what another process is asked. */
export const questionOf = (key: string, owner: string): string => `${key} ${owner}`

/** Reads it. The key is a string of its own: what was cut out of a text would keep all of that in memory. */
export const readQuestion = (question: string): readonly [key: string, owner: string] => {
  const end = question.indexOf(' ')
  return [Buffer.from(question.slice(0, end), 'latin1').toString('latin1'), question.slice(end + 1)]
}
