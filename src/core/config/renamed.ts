/** Keys, values, commands and options of earlier versions, and their names today. An old name is an error. */
const renamed: Readonly<Record<string, string>> = {
  answer: 'response',
  'bad-answer': 'bad-response',
  refuse: 'reject',
  refused: 'rejected',
  colour: 'color',
  grey: 'gray',
}

/** Finds the present name of `old`, if it is one of `known`. */
export const findRenamed = (old: string, known: readonly string[]): string | undefined => {
  const name = Object.hasOwn(renamed, old) ? renamed[old] : undefined
  return name !== undefined && known.includes(name) ? name : undefined
}
