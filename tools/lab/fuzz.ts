/** Judges mutations, as many and from where the command line says, and prints how often each outcome came. */
export const fuzz = (judge: (n: number) => string): void => {
  const [count = 1_000_000, first = 0] = process.argv.slice(2).map(Number)
  const outcomes = new Map<string, number>()
  const unexplained: Error[] = []

  for (let n = first; n < first + count; n++) {
    try {
      const outcome = judge(n)
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    } catch (error) {
      if (!(error instanceof Error)) throw error
      unexplained.push(error)
    }
  }

  for (const [outcome, times] of [...outcomes].sort(([, one], [, other]) => other - one))
    console.log(`${String(times).padStart(9)}  ${outcome}`)
  console.log(`${String(unexplained.length).padStart(9)}  unexplained`)
  for (const { message, cause } of unexplained.slice(0, 10)) console.log(`\n${message}\n${cause}`)
  process.exitCode = unexplained.length === 0 ? 0 : 1
}
