/** One instruction of a Dockerfile, its continued lines joined. */
export interface Instruction {
  readonly name: string
  readonly rest: string
}

/** Reads the instructions of a Dockerfile, stage by stage. */
export const stagesOf = (text: string): readonly (readonly Instruction[])[] => {
  const lines = text
    .replace(/^\s*#.*\n/gm, '')
    .replace(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '')
  const stages: Instruction[][] = []
  for (const line of lines) {
    const [, name = '', rest = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? []
    if (name === 'FROM') stages.push([])
    stages.at(-1)?.push({ name, rest: rest.replace(/\s+/g, ' ').trim() })
  }
  return stages
}

/** Finds the one instruction of a name in a stage. */
export const only = (stage: readonly Instruction[], name: string): string => {
  const [found, ...more] = stage.filter((instruction) => instruction.name === name)
  if (found === undefined || more.length > 0)
    throw new Error(`${name} stands ${more.length === 0 ? 'nowhere' : 'twice'}`)
  return found.rest
}

/** Reads an instruction in exec form, such as `["node", "main.ts"]`; throws on the form that starts a shell. */
export const execForm = (rest: string): readonly string[] => JSON.parse(rest)
