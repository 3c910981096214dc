import './hostile-responses.test.ts'
