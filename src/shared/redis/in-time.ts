import { Alarm } from '../../clock.ts'

/** Waits for an outcome; null: it was late. What has come while this process was busy is read first, and is not late. Rejects as it does. */
export const inTime = <T>(outcome: Promise<T>, ms: number): Promise<T | null> =>
  new Promise((resolve, reject) => {
    const alarm = new Alarm(() => setImmediate(resolve, null))
    alarm.set(ms)
    outcome.then(
      (got) => {
        alarm.clear()
        resolve(got)
      },
      (error) => {
        alarm.clear()
        reject(error)
      },
    )
  })
