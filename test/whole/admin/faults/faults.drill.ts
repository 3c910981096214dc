import './faults.test.ts'
