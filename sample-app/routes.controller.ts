import { Controller, Get } from '@nestjs/common';

const ROUTES = {
  'GET /': 'the live page',
  'GET /routes': 'this list',
  'GET /api/sl/calculateCount?bizCodeKey=001&windowSeconds=10':
    'records an event, answers how many the window holds',
  'GET /api/sl/keepCalculate?bizCodeKey=001&windowSeconds=3&threshold=5':
    'records an event, answers whether the window holds the threshold',
  'GET /api/sl/clearOnCondition?bizCodeKey=001&windowSeconds=3&threshold=5':
    'the same, and forgets the events when it does',
  'POST /slices/calls/increment?by=1': 'adds to the present slice of 10 s',
  'GET /slices/calls/windowSum': 'the sum of the last minute',
  'GET /slices/calls/sliceValue': 'the present slice',
  'GET /slices/calls/timeline': 'all slices, oldest first',
  'DELETE /slices/calls': 'forgets them',
  'GET /limits/ip': 'counts the address',
  'GET /limits/user': 'counts the user in the header x-demo-user',
  'GET /limits/global': 'counts everybody together',
  'GET /limits/api-key': 'counts the header x-api-key, by a function of your own',
  'GET /algorithms/sliding-log': '3 in any 10 s',
  'GET /algorithms/fixed-window': '3 in each 10 s of the clock',
  'GET /algorithms/sliding-counter': '3 in any 10 s, counted in slices of 1 s',
  'GET /algorithms/token-bucket': '3 at once, then one every 5 s',
  'GET /policies/several-rules': '3 in 10 s, and 5 in a minute',
  'GET /policies/named': 'a policy that the module names',
  'GET /policies/stacked': 'two policies, one decision',
  'GET /policies/by-plan': 'more for those who send x-plan: pro',
  'GET /policies/cost?units=4': 'a request takes several units of 10 in 10 s',
  'GET /policies/info': 'the decision, as a handler sees it',
  'GET /whole/limited': 'the limit of the controller',
  'GET /whole/own': 'a limit in its place',
  'GET /whole/skipped': 'no limit',
  'POST /login': 'five wrong passwords in 15 minutes lock the address; send {"password":"secret"}',
  'GET /metrics': 'what Prometheus scrapes',
  'GET /health': 'up, or degraded while Redis does not decide',
  'GET /profile': 'counts the user after authentication; send x-demo-user',
};

@Controller()
export class RoutesController {
  @Get('routes')
  routes(): Record<string, string> {
    return ROUTES;
  }
}
