import { AdministrationWorld } from '/work/main/test/support/administration-world/open-administration-world.ts'
const w = new AdministrationWorld()
const acc = await w.account(); const c = await w.connection(acc); const acc2 = await w.account('B'); 
w.database.exec('begin')
const N = 1_500_000
const st = w.database.prepare(`insert into message (id, account_id, connection_id, token_id, request_id, body, body_crc, recipient, type, state, accepted_at, took_us) values (?,?,?,'tok',?,?,0,'15550100000','message','PUBLISHED',?,700)`)
const body = JSON.stringify({ from: '15550001000', to: '15550100000', message: {type:'message', message:'x'.repeat(200)} })
for (let i=0;i<N;i++) st.run('m'+i, acc, c, 'r-'+i, body, 1e12+i)
w.database.exec('commit')
const st2 = w.database.prepare(`insert into request (account_id, token_id, request_id, received_at, took_us, status, code, errors, body) values (?, 'tok', ?, ?, 1, 400, 'HC-2', '[]', ?)`)
for (let i=0;i<100000;i++) st2.run(acc,'q-'+i,1e12+i*10,body)
const orig = w.database.prepare.bind(w.database); let seen=new Set()
w.database.prepare = (s: string) => { const r=orig(s); if(!seen.has(s)&&s.startsWith('select')){seen.add(s); console.log(s.slice(-200)); try{console.log(orig('explain query plan '+s).all(...Array(s.split('?').length-1).fill(1)).map((x:any)=>x.detail).join('\n'))}catch(e){console.log(e)}} return r }
let t=performance.now(); const lap=(n:string)=>{console.log('##',n,(performance.now()-t).toFixed(0),'ms',(process.memoryUsage().rss/1e6).toFixed(0)); t=performance.now()}
const f={accountId:null,tokenIds:null,connection:null,statuses:null,limit:null}
await w.administration.findRequest('r-0', null); lap('find oldest')
await w.administration.findRequest('r-0', acc); lap('find oldest account')
await w.administration.findRequest('q-0', null); lap('find oldest refused')
for await (const _ of w.administration.listRequests({...f, limit:50})); lap('50')
for await (const _ of w.administration.listRequests({...f, connection:'15550001000', limit:50})); lap('50 conn')
for await (const _ of w.administration.listRequests({...f, accountId: acc2})); lap('none of other account')
for await (const _ of w.administration.listRequests({...f, tokenIds:['x' as any]})); lap('none of token')
for await (const _ of w.administration.listRequests({...f, statuses:{from:500,to:599}})); lap('5xx')
let n=0; for await (const _ of w.administration.listRequests(f)) n++; lap('all '+n)
n=0; t=performance.now(); for await (const _ of w.administration.listMessages({accountId:null,connectionId:null,state:null,limit:null})) n++; lap('listMessages '+n)
