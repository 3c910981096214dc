const renamed: Readonly<Record<string, string>> = {
  answer: 'response',
  'bad-answer': 'bad-response',
  refuse: 'reject',
  refused: 'rejected',
  colour: 'color',
  grey: 'gray',
}

export const findRenamed = (old: string, known: readonly string[]): string | undefined => {
  const name = Object.hasOwn(renamed, old) ? renamed[old] : undefined
  return name !== undefined && known.includes(name) ? name : undefined
}
